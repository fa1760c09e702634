package main

func Example() {
	main()
	// Output:
	// the first is 0, with rank 0.0304
	//    0  0.1867 from there, 0.0304 from everywhere
	//    1  0.0111 from there, 0.0102 from everywhere
	//  128  0.0103 from there, 0.0098 from everywhere
	//    4  0.0101 from there, 0.0093 from everywhere
	//   32  0.0100 from there, 0.0092 from everywhere
}

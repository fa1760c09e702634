package main

func Example() {
	main()
	// Output:
	// 9801 unknowns, 48609 entries, 374 supersteps
	//   1% of the way along the diagonal: 0.00027
	//  13% of the way along the diagonal: 0.01927
	//  25% of the way along the diagonal: 0.04528
	//  50% of the way along the diagonal: 0.07367
}

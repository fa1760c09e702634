package main

func Example() {
	main()
	// Output:
	// 16384 walkers, 125500 messages
	// vertex  5452 has 241
	// vertex  1814 has 106
	// vertex 16229 has 103
	// vertex  2400 has 95
	// vertex 12237 has 94
}

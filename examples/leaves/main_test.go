package main

func Example() {
	main()
	// Output:
	// loaded: 4096 vertices, 3882 edges
	// left after 4 supersteps: 862 vertices, 3180 edges
	// components of what is left: 1
}

package main

func Example() {
	main()
	// Output:
	// vertex  reaches  in fact  harmonic centrality
	//      0     2225     2012  1256
	//     32     2225     2012  1068
	//    128     2225     2012  1067
	//     64     2225     2012  1067
	//     16     2225     2012  1048
}

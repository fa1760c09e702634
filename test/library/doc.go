// Package library tests the root package and package cluster as a program uses them.
package library

package control

import "fmt"

// SumLoads returns the report of a graph of which these workers report their shares.
func SumLoads(input string, workers []string, shares []*LoadReport) (*LoadReport, error) {
	sum := &LoadReport{}
	for i, share := range shares {
		if i > 0 && (share.Vertices != sum.Vertices || share.Edges != sum.Edges) {
			return nil, fmt.Errorf("load %s: worker %s has a graph of %d vertices and %d edges, worker %s one of %d and %d: "+
				"do all see the same file?", input, workers[i], share.Vertices, share.Edges, workers[0], sum.Vertices, sum.Edges)
		}
		sum.Vertices, sum.Edges, sum.Arcs = share.Vertices, share.Edges, share.Arcs
		sum.Bytes += share.Bytes
		sum.Skipped = append(sum.Skipped, share.Skipped...)
		sum.Notes = append(sum.Notes, share.Notes...)
		sum.Seconds = max(sum.Seconds, share.Seconds)
		sum.Directed, sum.Weighted, sum.Named = share.Directed, share.Weighted, share.Named
	}
	return sum, nil
}

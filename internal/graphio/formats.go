package graphio

import "slices"

// Description describes a format, for help texts and docs/reference/formats.md.
type Description struct {
	Format   Format
	Suffixes []string // suffixes of file names, without .gz and the like
	Layout   string   // a line, a record, or the files
	Edges    string   // directed or undirected, unless a flag overrides it
	Vertices string   // the vertices of the graph
	Weights  string   // where weights are; empty if the format has none
	Named    bool     // vertices may have names
	Written  bool
	Needs    string // the condition on a graph that can be written
	Lost     string // what writing loses, with a warning
}

// Restrictions that several formats share.
const (
	occurring  = "the ids that occur"
	lines      = "one for each line"
	uvLine     = "`u v`; `#` and `%` begin comments"
	onlyEdges  = "isolated vertices, being undirected"
	counted1   = "ids 1..n or 0..n-1, which are written as 1..n"
	counted0   = "ids 0..n-1"
	tableNeeds = "no names with `\\r\\n` or a NUL byte"
)

// known has the formats; those that can be written come first.
var known = []Description{
	{
		Format: SNAP, Suffixes: []string{".snap", ".txt"}, Layout: uvLine, Edges: "directed",
		Vertices: occurring, Written: true, Lost: "weights, " + onlyEdges,
	},
	{
		Format: EL, Suffixes: []string{".el", ".edges"}, Layout: uvLine, Edges: "directed",
		Vertices: occurring, Written: true, Lost: "weights, " + onlyEdges,
	},
	{
		Format: WEL, Suffixes: []string{".wel"}, Layout: "`u v w`, and columns that `--column` reads", Edges: "directed", Vertices: occurring,
		Weights: "third column", Written: true, Needs: "weights", Lost: onlyEdges,
	},
	{
		Format: MatrixMarket, Suffixes: []string{".mtx", ".mm"}, Layout: "Matrix Market `coordinate`: `pattern`, `real`, `integer` or `unsigned-integer`; `%` begins comments",
		Edges: "`general` directed, `symmetric` undirected", Vertices: "1 to the number of rows",
		Weights: "third column, unless `pattern`", Written: true, Needs: counted1,
	},
	{
		Format: LDBC, Suffixes: []string{".v", ".e", ".properties"},
		Layout: "FILE.v: an id a line; FILE.e: `u v` or `u v w`; FILE.properties is optional",
		Edges:  "as FILE.properties states, else directed", Vertices: "those of FILE.v", Weights: "the property that FILE.properties names, else `weight`, else the only one", Written: true,
	},
	{
		Format: Graph500, Suffixes: []string{".g500", ".graph500", ".bin"},
		Layout: "12 bytes an edge, 48 bits a vertex, little-endian", Edges: "undirected",
		Vertices: "0 to the largest id", Weights: "FILE.weights, a float32 an edge", Written: true, Needs: "an undirected graph, " + counted0 + ", weights that fit a float32, a name without `.gz` or `.zst`",
		Lost: "isolated vertices at the end, digits of weights",
	},
	{
		Format: CSV, Suffixes: []string{".csv"}, Layout: "an edge a record (RFC 4180)",
		Edges: "directed", Vertices: occurring, Weights: "a column",
		Named: true, Written: true, Needs: tableNeeds, Lost: onlyEdges,
	},
	{
		Format: TSV, Suffixes: []string{".tsv", ".tab"}, Layout: "an edge a record, with tabs",
		Edges: "directed", Vertices: occurring, Weights: "a column",
		Named: true, Written: true, Needs: tableNeeds, Lost: onlyEdges,
	},
	{
		Format: JSONLines, Suffixes: []string{".jsonl", ".ndjson"}, Layout: "`{\"source\": 1, \"target\": 2}`, an edge an object (RFC 8259)", Edges: "directed", Vertices: occurring,
		Weights: "a member", Named: true, Written: true, Lost: onlyEdges,
	},
	{
		Format: Parquet, Suffixes: []string{".parquet", ".pq"}, Layout: "an edge a row, columns at the top of the schema", Edges: "directed", Vertices: occurring,
		Weights: "a column", Named: true, Written: true,
		Needs: "a name without `.gz` or `.zst`", Lost: onlyEdges,
	},
	{
		Format: DIMACS, Suffixes: []string{".gr", ".col"},
		Layout: "`p sp N M` and `a u v w`; or `p edge N M` and `e u v`; `c` begins comments",
		Edges:  "`p sp` directed, `p edge` undirected", Vertices: "1 to N", Weights: "of `a` lines",
		Written: true, Needs: counted1 + "; `.col`: an undirected graph; `.gr`: weights",
		Lost: "`.col`: weights; `.gr`: an undirected edge becomes two arcs",
	},
	{
		Format: METIS, Suffixes: []string{".metis", ".graph"}, Layout: "`N M [FORMAT [WEIGHTS]]`, then the neighbours of a vertex a line; `%` begins comments", Edges: "undirected",
		Vertices: "1 to N", Weights: "after each neighbour, if FORMAT ends in 1", Written: true,
		Needs: "an undirected graph, " + counted1, Lost: "loops",
	},
	{
		Format: Serialized, Suffixes: []string{".sg"}, Layout: "the serialized graph of GAPBS (`converter -b`)", Edges: "as the file states", Vertices: "0 to n-1",
		Written: true, Needs: counted0 +
			", fewer than 2^31, a name without `.gz` or `.zst`", Lost: "weights",
	},
	{
		Format: SerializedW, Suffixes: []string{".wsg"}, Layout: "the same with weights (`converter -wb`)", Edges: "as the file states", Vertices: "0 to n-1",
		Weights: "int32", Written: true, Needs: "as sg, and whole weights of 32 bits",
	},
	{
		Format: Adjacency, Suffixes: []string{".adj"},
		Layout: "`v u1 u2 ...`; `#` and `%` begin comments", Edges: "directed", Vertices: lines,
	},
	{
		Format: Giraph, Layout: "`[id, value, [[target, weight], ...]]` (JsonLongDoubleFloatDoubleVertexInputFormat)", Edges: "directed", Vertices: lines,
		Weights: "of each target",
	},
	{
		Format: GraphML, Suffixes: []string{".graphml"}, Layout: "`<node id>` and `<edge source target>` of one `<graph>`", Edges: "as `edgedefault` states",
		Vertices: "the nodes",
		Weights:  "`<data>` of a key that is called `weight` or alike", Named: true,
	},
}

// Known returns the descriptions of all formats.
func Known() []Description { return slices.Clone(known) }

// UsualNames returns the column names of tables that need no flag, in the order in which they are
// tried.
func UsualNames() (source, target, weight, vertex []string) {
	return slices.Clone(sourceNames), slices.Clone(targetNames), slices.Clone(weightNames),
		slices.Clone(vertexNames)
}

// Formats are the names of all formats. Written are the formats that can be written, and namesIn
// those of these whose vertices may have names: tables. extensions maps suffixes of file names to
// formats. The content of a .txt file may show another format.
var (
	Formats, Written []string
	namesIn          = map[Format]bool{}
	extensions       = map[string]Format{}
)

func init() {
	for _, d := range known {
		Formats = append(Formats, string(d.Format))
		if d.Written {
			Written = append(Written, string(d.Format))
			namesIn[d.Format] = d.Named
		}
		for _, suffix := range d.Suffixes {
			extensions[suffix] = d.Format
		}
	}
}

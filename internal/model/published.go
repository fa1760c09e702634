package model

// Published is a run that others published, with what it takes to predict it.
type Published struct {
	Name    string // of the machine, and the paper
	Scale   int
	Nodes   int
	Grid    Grid
	Threads int // of a process
	Network string
	Schemes []Scheme // those the code had
	TEPS    float64
}

// Runs are the published runs that predictions are laid beside.
var Runs = []Published{
	{"TSUBAME 2.0, 2D top-down (Ueno11)", 36, 512, Grid{16, 32}, 24, "infiniband-qdr", []Scheme{Push}, 22.8e9},
	{"Fugaku, hybrid (Nakao20)", 40, 92160, Grid{320, 288}, 48, "tofu-d", []Scheme{Push, Pull}, 70980e9},
}

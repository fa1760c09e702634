package history

// maxSide bounds the rows of a matrix, because more would not be visible.
const maxSide = 128

// Matrix is the bytes sent between partitions in a whole run. Each cell covers Per x Per pairs:
// cell from*Side+to has the bytes from the Per partitions starting at from*Per to the Per
// partitions starting at to*Per.
type Matrix struct {
	Side  int   `json:"side"`
	Per   int   `json:"per"`
	Bytes []int `json:"bytes"`
	// Summed means that at least some supersteps have no entries per pair, because there are too
	// many partitions.
	Summed bool `json:"summed,omitempty"`

	partitions int // number of partitions that it has room for
}

func (m *Matrix) add(from, to, bytes int) {
	if most := max(from, to); most >= m.partitions {
		m.grow(most + 1)
	}
	m.Bytes[from/m.Per*m.Side+to/m.Per] += bytes
}

// grow makes room for more partitions. Per is a power of two, so that each old cell lies in one new
// cell.
func (m *Matrix) grow(partitions int) {
	if partitions <= m.partitions {
		return
	}
	old := *m
	m.partitions = partitions
	m.Per = max(m.Per, 1)
	for (partitions+m.Per-1)/m.Per > maxSide {
		m.Per *= 2
	}
	m.Side = (partitions + m.Per - 1) / m.Per
	m.Bytes = make([]int, m.Side*m.Side)
	for i, bytes := range old.Bytes {
		from, to := i/old.Side*old.Per, i%old.Side*old.Per
		m.Bytes[from/m.Per*m.Side+to/m.Per] += bytes
	}
}

// Lanes is the utilization of partitions over time: a line per partition, a cell per group of
// consecutive supersteps.
type Lanes struct {
	From  int `json:"from"` // the first superstep
	Every int `json:"every"`
	// Busy has the percentage of time that partitions worked, line by line; -1 where it is no
	// longer known.
	Partitions int    `json:"partitions"`
	Columns    int    `json:"columns"`
	Busy       []int8 `json:"busy"`
}

// lanes sums the available details into at most columns columns.
func (j *job) lanes(columns int) Lanes {
	l := Lanes{Partitions: len(j.Totals), Every: 1, Busy: []int8{}}
	if len(j.Steps) == 0 || columns < 1 {
		return l
	}
	l.From = j.Steps[0].Superstep
	span := j.Steps[len(j.Steps)-1].Superstep - l.From + 1
	l.Every = (span + columns - 1) / columns
	l.Columns = (span + l.Every - 1) / l.Every
	busy, total := make([]float32, l.Partitions*l.Columns), make([]float32, l.Partitions*l.Columns)
	for _, step := range j.Steps {
		d := j.details[step.Superstep]
		if d == nil {
			continue
		}
		column := (step.Superstep - l.From) / l.Every
		for i := range d.Partitions {
			p := &d.Partitions[i]
			cell := p.Partition*l.Columns + column
			busy[cell] += float32(p.Times.Busy())
			total[cell] += float32(step.Times.Total)
		}
	}
	l.Busy = make([]int8, len(busy))
	for i := range busy {
		l.Busy[i] = -1
		if total[i] > 0 {
			l.Busy[i] = int8(min(100*busy[i]/total[i], 100))
		}
	}
	return l
}

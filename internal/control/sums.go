package control

import "slices"

// MaxPaired is the most partitions of which records tell what each sent to each other. Of more they have sums: pairs grow
// with the square, and an event must fit into a message, and many into memory. With 64 a record has at most some 100 KB, or
// five times that if the job is traced; with sums, at 4,096 partitions, 2 MB.
const MaxPaired = 64

// Sum adds to the sums what was sent to another partition.
func (p *PartitionReport) Sum(exchange, encoding string, messages, bytes uint64) {
	i := slices.IndexFunc(p.Sums, func(s *ExchangeSum) bool { return s.Exchange == exchange && s.Encoding == encoding })
	if i < 0 {
		i = len(p.Sums)
		p.Sums = append(p.Sums, &ExchangeSum{Exchange: exchange, Encoding: encoding})
	}
	s := p.Sums[i]
	s.Columns++
	s.Messages += messages
	s.Bytes += bytes
}

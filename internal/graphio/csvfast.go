package graphio

import "bytes"

// csvStops are the bytes at which the fast path stops: the ends of fields, and bytes that only the
// slow path handles.
type csvStops [256]bool

// stopsOf returns the stops of a table. It returns nil if the fast path cannot read the table: if
// its delimiter may be in a number, or one column is used twice.
func (c *csvGrammar) stopsOf() *csvStops {
	d := c.delimiter
	if c.at[0] == c.at[1] || c.at[2] >= 0 && (c.at[2] == c.at[0] || c.at[2] == c.at[1]) ||
		d >= '0' && d <= '9' || d == '.' || d == '-' || d == '+' {
		return nil
	}
	stops := &csvStops{0: true, '\n': true, '\r': true, '"': true}
	stops[d] = true
	return stops
}

// fastRecords is fast for records of tables. It reads records with ids of up to 18 digits and a
// short weight, without blanks around these. A quoted field must not contain a quote or a line
// break.
func (p *parser) fastRecords(data []byte) int {
	if p.csv.stops == nil || p.named != nil {
		return 0
	}
	at := 0
	for at < len(data) {
		end, ok := p.plainRecord(data, at)
		if !ok {
			break
		}
		p.lines++
		at = end + 1
	}
	return at
}

// plainRecord reads the record at data[at:]. It returns the end of its line. ok is false if the
// record is not plain; then nothing is added to the columns.
func (p *parser) plainRecord(data []byte, at int) (end int, ok bool) {
	var ids [2]uint64
	c, w, weights := p.csv, 0.0, p.csv.at[2]
	if p.columns < 3 {
		weights = -1
	}
	end = at
	for column := range c.columns {
		if column > 0 {
			if data[end] != c.delimiter {
				return end, false
			}
			end++
		}
		ok, quoted := true, data[end] == '"'
		if quoted {
			end++
		}
		switch column {
		case c.at[0]:
			ids[0], end, ok = p.plainID(data, end)
		case c.at[1]:
			ids[1], end, ok = p.plainID(data, end)
		case weights:
			w, end, ok = decimal(data, end, p.single)
		default:
			begin := end
			for !c.stops[data[end]] || quoted && data[end] == c.delimiter {
				end++
			}
			ok = column != c.kind-1 || bytes.Equal(data[begin:end], c.kindText)
		}
		if quoted && data[end] == '"' {
			end++
		} else if quoted {
			ok = false
		}
		if !ok {
			return end, false
		}
	}
	if data[end] == '\r' {
		end++
	}
	if data[end] != '\n' || end-at > maxLine {
		return end, false
	}
	if p.ids = append(p.ids, ids[0]); p.columns > 1 {
		p.ids = append(p.ids, ids[1])
	}
	if weights >= 0 {
		p.weights = append(p.weights, w)
	}
	return end, true
}

// plainID reads the id at data[at:]. It returns the end of the id. ok is false if the id is not
// plain.
func (p *parser) plainID(data []byte, at int) (id uint64, end int, ok bool) {
	id, end = digits(data, at)
	return id, end, uint(end-at-1) < 18 && id >= p.low && id <= p.high &&
		(data[at] != '0' || end == at+1 || p.zeros)
}

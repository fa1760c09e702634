package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// File opens the file of an object for reading. The file keeps its content even if another object
// is stored under the name.
func (d *Dir) File(name string) (*os.File, error) {
	if err := Named(d, name); err != nil {
		return nil, err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, Failed("open", d, name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("found no regular file: %w", fs.ErrInvalid)
	}
	if err != nil {
		return nil, Failed("open", d, name, errors.Join(err, f.Close()))
	}
	return f, nil
}

// Package laws checks the algebraic laws of a combiner by its method Combine alone, without a graph
// or the engine. pregeltest.CheckCombiner uses it.
package laws

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/superstep-go/superstep/pregel"
)

// Check returns an error unless the combiner is commutative and associative on values, its identity
// is neutral, and it does not change its arguments. same reports whether two messages are equal.
func Check[M any](c pregel.Combiner[M], values []M, same func(a, b M) bool) error {
	identity := c.Identity()
	values = append(values[:len(values):len(values)], identity)
	for i, m := range values {
		values[i] = roomy(m)
	}
	for _, a := range values {
		if x := c.Combine(a, identity); !same(x, a) {
			return fmt.Errorf("the identity is not neutral: Combine(%+v, %+v) is %+v", a, identity,
				x)
		}
		for _, b := range values {
			before, behind := fmt.Sprintf("%+v %+v", a, b), fmt.Sprint(room(a), room(b))
			x, y := c.Combine(a, b), c.Combine(b, a)
			if after := fmt.Sprintf("%+v %+v", a, b); after != before {
				return fmt.Errorf(
					"combining changes the arguments, which others get too: %s became %s",
					before, after)
			}
			if fmt.Sprint(room(a), room(b)) != behind {
				return fmt.Errorf(
					"combining %s writes behind an argument, where others write too: "+
						"append does, unless to a clone", before)
			}
			if !same(x, y) {
				return fmt.Errorf(
					"not commutative: Combine(%+v, %+v) is %+v, the other way round %+v",
					a, b, x, y)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	pick := func() M { return values[rng.IntN(len(values))] }
	n := len(values)
	for i := range min(n*n*n, 20_000) {
		a, b, d := values[i%n], values[i/n%n], values[i/n/n%n]
		if n*n*n > 20_000 {
			a, b, d = pick(), pick(), pick()
		}
		if x, y := c.Combine(c.Combine(a, b), d), c.Combine(a, c.Combine(b, d)); !same(x, y) {
			return fmt.Errorf(
				"not associative: (%+v, %+v), %+v combine to %+v, and %[1]v, (%+[2]v, %+[3]v) to %+[5]v",
				a, b, d, x, y)
		}
	}
	return nil
}

// roomy returns a copy of a slice with spare capacity. It returns any other message unchanged.
func roomy[M any](m M) M {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Slice || v.IsNil() {
		return m
	}
	return reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, 2*v.Len()+8), v).Interface().(M)
}

// room returns a slice extended to its capacity. It returns any other message unchanged.
func room(m any) any {
	if v := reflect.ValueOf(m); v.Kind() == reflect.Slice {
		return v.Slice(0, v.Cap()).Interface()
	}
	return m
}

// Odd returns NaN, both infinities and both zeros if M is a type of floats, else nil.
func Odd[M any]() (odd []M) {
	t := reflect.TypeFor[M]()
	if k := t.Kind(); k != reflect.Float32 && k != reflect.Float64 {
		return nil
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)} {
		v := reflect.New(t).Elem()
		v.SetFloat(x)
		odd = append(odd, v.Interface().(M))
	}
	return odd
}

// Same reports whether two values are deeply equal, where NaN equals NaN.
func Same[V any](a, b V) bool {
	return reflect.DeepEqual(a, b) || fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b)
}

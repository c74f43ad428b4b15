/** A column of rows by the places of their values among its different ones: −1 for null. */
export interface NumberedColumn {
  readonly places: Int32Array
  readonly values: { readonly length: number }
}

/** Numbers of the combinations of values that rows of a sample have. */
export interface TuplePlaces {
  /** −1 of rows that are left out. */
  readonly places: Int32Array
  /** Numbers are below it. */
  readonly count: number
}

/**
 * Numbers rows by their values in one or more columns of a sample.
 * @param withNulls whether null is a value; rows that have one are left out otherwise
 */
export function tuplePlaces(samples: readonly NumberedColumn[], withNulls: boolean): TuplePlaces {
  const parts = samples.map((sample) => numbered(sample, withNulls))
  const [first, ...others] = parts
  return others.reduce(combined, first ?? { places: new Int32Array(0), count: 0 })
}

function numbered({ places, values }: NumberedColumn, withNulls: boolean): TuplePlaces {
  if (!withNulls) return { places, count: values.length }
  return { places: places.map((place) => (place < 0 ? values.length : place)), count: values.length + 1 }
}

function combined(left: TuplePlaces, right: TuplePlaces): TuplePlaces {
  const numbers = new Map<number, number>()
  const places = left.places.map((place, row) => {
    const other = right.places[row]!
    if (place < 0 || other < 0) return -1
    const pair = place * right.count + other
    const number = numbers.get(pair) ?? numbers.size
    numbers.set(pair, number)
    return number
  })
  return { places, count: numbers.size }
}

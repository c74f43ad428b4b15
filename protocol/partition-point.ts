/** The first of the places from `low` on that does not come before something; `high` if all before that do. Those that do come first. */
export function partitionPoint(low: number, high: number, comesBefore: (place: number) => boolean): number {
  let [first, end] = [low, high]
  while (first < end) {
    const middle = Math.floor((first + end) / 2)
    if (comesBefore(middle)) first = middle + 1
    else end = middle
  }
  return first
}

/** The same, where it is thought to be near `low`: steps double until one goes too far. */
export function nearPartitionPoint(
  low: number,
  high: number,
  comesBefore: (place: number) => boolean,
): number {
  let first = low
  let step = 1
  while (first + step <= high && comesBefore(first + step - 1)) {
    first += step
    step *= 2
  }
  return partitionPoint(first, Math.min(high, first + step - 1), comesBefore)
}

/** Values that come more often than this in a sample are there for certain, and say nothing of those that are not. */
const MOST_FREQUENT = 50

/**
 * How many different values a set of rows has, from a random sample of it: Duj2a of Haas and Stokes ("Estimating the number of classes in a finite
 * population", Journal of the American Statistical Association 93, 1998), the second-order jackknife without frequent values, which extends Haas
 * et al. 1995. No estimator is always within sqrt(rows / sampled) (Charikar et al. 2000); this one counts all of a sample in which
 * each value comes once as different, and a sample of all rows as it is.
 *
 * @param counts how often each value of the sample comes in it
 * @param rows that the sample was drawn from
 */
export function distinctCount(counts: Iterable<number>, rows: number): number {
  let [sampled, frequent, values, rareRows, once, pairs] = [0, 0, 0, 0, 0, 0]
  for (const count of counts) {
    sampled += count
    if (count > MOST_FREQUENT) {
      frequent++
      continue
    }
    values++
    rareRows += count
    if (count === 1) once++
    pairs += count * (count - 1)
  }
  if (values === 0) return frequent
  const share = Math.min(1, sampled / rows)
  if (share === 1) return frequent + values
  const rare = rows * (rareRows / sampled)
  const left = 1 - (once * (1 - share)) / rareRows
  const first = Math.min(rare, values / left)
  const variation = Math.max(0, (first / rareRows ** 2) * pairs + first / rare - 1)
  const second = (values - (once * (1 - share) * Math.log(1 - share) * variation) / share) / left
  return frequent + Math.min(rare, Math.max(values, second))
}

/**
 * Different values among rows that were drawn at random from some of each value (Cardenas 1975; Yao 1977 has it without replacement).
 * @param values that may come, all equally often
 */
export function distinctAmong(values: number, rows: number): number {
  if (!Number.isFinite(values)) return rows
  if (values <= 1) return Math.min(values, rows)
  return Math.min(rows, -values * Math.expm1(rows * Math.log1p(-1 / values)))
}

import { type QueryExplanation, qError } from '../../protocol/query/explanation.js'

/** Milliseconds for which something is done again and again: a GPU that was idle is slow at first. */
const LEAST_MS = 1000

/** The milliseconds that the fastest of some rounds takes. */
export async function fastest(rounds: number, work: () => Promise<unknown>): Promise<number> {
  const end = performance.now() + LEAST_MS
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds || performance.now() < end; round++) {
    const begin = performance.now()
    await work()
    least = Math.min(least, performance.now() - begin)
  }
  return least
}

/** Prints what each operator did. */
export function showSteps(
  { op, method, estimatedRows, rows, bytesRead, bytesWritten, milliseconds, inputs }: QueryExplanation,
  depth = 1,
): void {
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`
  const how = method === undefined ? '' : ` (${method})`
  const figures = `${rows} rows (${estimatedRows} estimated, q ${qError(estimatedRows, rows).toFixed(2)}), ${mebibytes(bytesRead)} read, ${mebibytes(bytesWritten)} written, ${milliseconds.toFixed(2)} ms`
  console.log(`${'  '.repeat(depth)}${op}${how}: ${figures}`)
  for (const input of inputs) showSteps(input, depth + 1)
}

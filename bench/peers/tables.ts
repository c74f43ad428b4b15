import { printTables, type Row } from '../report.js'
import { type Contest, type Outcome, type PeersResult, SUBJECT } from './peers.js'
import type { Spread } from './spread.js'

/** Prints what came out: rates, then how many times as fast this server is. */
export function printPeers(title: string, { outcomes, peers, missing }: PeersResult): void {
  const names = peers.map(({ name }) => name)
  const gone = missing.map(({ name }) => name)
  const rows = (cell: (outcome: Outcome, name: string) => string, columns: readonly string[]): Row[] =>
    outcomes.map((outcome) => ({
      name: contestName(outcome),
      figures: Object.fromEntries([
        ...columns.map((name) => [name, cell(outcome, name)] as const),
        ...gone.map((name) => [name, 'missing'] as const),
      ]),
    }))
  const rate = ({ rates }: Outcome, name: string) =>
    rates[name] === undefined ? '–' : prefixed(rates[name].median)
  const ratio = ({ ratios }: Outcome, name: string) =>
    ratios[name] === undefined ? '–' : times(ratios[name])
  printTables(`${title}: keys (of scans: scans) a second, medians`, rows(rate, names))
  const others = names.filter((name) => name !== SUBJECT)
  printTables(`${title}: times as fast as each, median (quartiles)`, rows(ratio, others))
  for (const { name, note } of peers) console.log(`${name}: ${note}`)
  for (const { name, missing: reason } of missing) console.log(`${name} is missing: ${reason}`)
}

/** What was asked, in a few words. */
export function contestName({ operation, payload, keys, distribution, batch }: Contest): string {
  const what = operation === 'scan' ? 'scans of 100' : `${operation}s`
  const drawn = distribution === undefined ? '' : `, ${distribution}`
  return `u64 → ${payload}, ${keys / 1e6} M: ${what}${drawn}, batches of ${batch}`
}

function times({ median, low, high }: Spread): string {
  const text = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(2))
  return `${text(median)} (${text(low)}–${text(high)})`
}

function prefixed(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} M`
  return value >= 1e3 ? `${(value / 1e3).toPrecision(3)} k` : value.toPrecision(3)
}

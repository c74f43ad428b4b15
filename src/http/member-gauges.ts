import { Gauge, type Registry } from 'prom-client'

/** Indexes, or relations, that metrics tell apart: each has a dozen series or more. These are the largest; the others are one series together. */
export const METERED_MEMBERS = 100

/** The label of all that are not told apart; nothing has an empty name. */
const OTHERS = ''

/** What metrics say of an index or a relation. */
export type MemberFigure<T> = readonly [name: string, help: string, figure: (stats: T) => number]

/** All indexes or relations at the moment, and those that are told apart. */
export interface Members<T> {
  readonly largest: readonly T[]
  readonly all: readonly T[]
}

/** A figure that is not known of everything. */
export function numberOf(figure: unknown): number {
  return typeof figure === 'number' ? figure : 0
}

/** Enters a gauge a figure, with a series for each of the largest, and one for all others together. */
export function memberGauges<T extends { readonly name: string }>(
  registry: Registry,
  kind: 'index' | 'relation',
  figures: readonly MemberFigure<T>[],
  members: () => Members<T>,
): void {
  for (const [name, help, figure] of figures) {
    registry.registerMetric(
      new Gauge({
        name: `warpdex_${kind}_${name}`,
        help: `${help} The label is empty for all but the ${METERED_MEMBERS} largest together.`,
        labelNames: [kind],
        registers: [],
        collect() {
          this.reset()
          const { largest, all } = members()
          for (const member of largest) this.set({ [kind]: member.name }, figure(member))
          const shown = new Set(largest.map(({ name }) => name))
          const others = all.filter(({ name }) => !shown.has(name))
          if (others.length === 0) return
          this.set(
            { [kind]: OTHERS },
            others.reduce((sum, member) => sum + figure(member), 0),
          )
        },
      }),
    )
  }
}

import { WarpdexError } from '../../../protocol/errors.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import type { Entries, Mark } from './mark.js'
import { type Predicate, PredicateBuilder } from './predicate.js'
import { buffersOf, type Testable } from './testable.js'

/**
 * Cuts the conditions of one kernel of a plan into predicates that a kernel of an adapter can bind, each of which goes on from the bits that the
 * one before has left. Most plans have one.
 */
export class Predicates {
  readonly #mark: Mark

  constructor(mark: Mark) {
    this.#mark = mark
  }

  /** @returns one at least */
  async of(
    work: DeviceWork,
    entries: Entries,
    columns: readonly QueryColumn[],
    groups: readonly (readonly Testable[])[],
  ): Promise<Predicate[]> {
    const fitting = await Promise.all(
      groups.map((group) => Promise.all(group.map((test) => this.#fitting(work, entries, columns, test)))),
    )
    return this.#cut(columns, fitting).map((part) => predicateOf(columns, part, entries))
  }

  /** The groups, or parts of them, that one kernel evaluates. */
  #cut(columns: readonly QueryColumn[], groups: readonly (readonly Testable[])[]): Testable[][][] {
    const parts: Testable[][][] = [[]]
    for (const group of groups) {
      parts.at(-1)!.push([])
      for (const test of group) {
        const part = parts.at(-1)!
        if (this.#fits(columns, [...part.flat(), test])) part.at(-1)!.push(test)
        else parts.push([[test]])
      }
    }
    return parts.map((part) => part.filter((group) => group.length > 0))
  }

  #fits(columns: readonly QueryColumn[], tests: readonly Testable[]): boolean {
    return buffersOf(columns, tests).size <= this.#mark.mostSources
  }

  /** A test that one kernel can evaluate: of an `any` over more columns, branches are evaluated beforehand and leave marks. */
  async #fitting(
    work: DeviceWork,
    entries: Entries,
    columns: readonly QueryColumn[],
    test: Testable,
  ): Promise<Testable> {
    if (this.#fits(columns, [test])) return test
    if (test.kind !== 'any')
      throw new WarpdexError('INTERNAL', `a test of ${test.kind} needs too many buffers`)
    let branches = test.branches
    do {
      const marked: Testable[][] = []
      for (const union of this.#unions(columns, branches)) {
        const [only] = union
        const group: readonly Testable[] = union.length === 1 ? only! : [{ kind: 'any', branches: union }]
        const predicates = await this.of(work, entries, columns, [group])
        marked.push([{ kind: 'marked', bits: await this.#mark.bits(work, entries, predicates) }])
      }
      branches = marked
    } while (!this.#fits(columns, branches.flat()))
    return { kind: 'any', branches }
  }

  /** As many branches together as one kernel can evaluate; one that is too large by itself is alone. */
  #unions(
    columns: readonly QueryColumn[],
    branches: readonly (readonly Testable[])[],
  ): (readonly Testable[])[][] {
    const unions: (readonly Testable[])[][] = []
    for (const branch of branches) {
      const last = unions.at(-1)
      if (last !== undefined && this.#fits(columns, [...last, branch].flat())) {
        last.push(branch)
      } else unions.push([branch])
    }
    return unions
  }
}

function predicateOf(
  columns: readonly QueryColumn[],
  groups: readonly (readonly Testable[])[],
  { list }: Entries,
): Predicate {
  const builder = new PredicateBuilder(columns)
  for (const group of groups) builder.addGroup(group)
  return builder.finish(list !== undefined)
}

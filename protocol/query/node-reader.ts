import { badRequest, type WarpdexError } from '../errors.js'
import { isMap } from '../is-map.js'
import { LIMITS } from '../limits.js'
import type { ConstantList } from './constant-lists.js'

/** What one query may still take of the limits; all of its readers share it. */
export interface QueryBudget {
  nodes: number
  expressions: number
  /** Constants of lists. */
  listed: number
  /** Lists of constants that came with the query. */
  readonly lists: readonly ConstantList[]
}

/** A `BAD_REQUEST` that says where in the tree the fault is. */
export function faultAt(path: string, message: string): WarpdexError {
  return badRequest(`${shortened(path)}: ${message}`)
}

/** Names of a way that messages show of its beginning, and of its end. */
const SHOWN_STEPS = 6

function shortened(path: string): string {
  const steps = path.split('.')
  if (steps.length <= 2 * SHOWN_STEPS + 1) return path
  return [...steps.slice(0, SHOWN_STEPS), '…', ...steps.slice(-SHOWN_STEPS)].join('.')
}

/** Reads the fields of one map of a tree, as it came off the wire, and knows the way to it. */
export class NodeReader {
  readonly path: string
  readonly budget: QueryBudget
  readonly #depth: number
  readonly #fields: Readonly<Record<string, unknown>>
  readonly #read = new Set<string>()

  /** @throws WarpdexError `BAD_REQUEST` where the value is no map, or too deep in the tree */
  constructor(value: unknown, path: string, budget: QueryBudget, depth = 0) {
    if (!isMap(value)) throw faultAt(path, `${describe(value)} stands where a map is needed`)
    if (depth > LIMITS.queryDepth) throw faultAt(path, `a query is at most ${LIMITS.queryDepth} levels deep`)
    this.path = path
    this.budget = budget
    this.#depth = depth
    this.#fields = value
  }

  /** A field, undefined if absent. */
  value(name: string): unknown {
    this.#read.add(name)
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined
  }

  has(name: string): boolean {
    return this.value(name) !== undefined
  }

  child(name: string): NodeReader {
    return this.#reader(this.value(name), name)
  }

  /** The elements of a list of `least` to `most`. */
  list(name: string, least: number, most: number): readonly unknown[] {
    const list = this.value(name)
    if (!Array.isArray(list)) throw this.fault(`"${name}" must be a list`)
    if (list.length < least || list.length > most) {
      throw this.fault(`"${name}" has ${list.length} elements; ${least} to ${most} are allowed`)
    }
    return list
  }

  children(name: string, least: number, most: number): readonly NodeReader[] {
    return this.list(name, least, most).map((value, i) => this.#reader(value, `${name}[${i}]`))
  }

  #reader(value: unknown, step: string): NodeReader {
    return new NodeReader(value, `${this.path}.${step}`, this.budget, this.#depth + 1)
  }

  /** Takes something of the query's budget, with a fault where that is too much. */
  spend(part: 'nodes' | 'expressions' | 'listed', amount: number, fault: string): void {
    this.budget[part] -= amount
    if (this.budget[part] < 0) throw this.fault(fault)
  }

  text(name: string): string {
    const text = this.value(name)
    if (typeof text !== 'string') throw this.fault(`"${name}" must be a text, not ${describe(text)}`)
    return text
  }

  optionalText(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined
  }

  flag(name: string): boolean {
    const flag = this.value(name) ?? false
    if (typeof flag !== 'boolean') throw this.fault(`"${name}" must be true or false, not ${describe(flag)}`)
    return flag
  }

  whole(name: string, most: number): number {
    const number = this.value(name)
    if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > most) {
      throw this.fault(`"${name}" must be a whole number from 0 to ${most}, not ${describe(number)}`)
    }
    return number
  }

  choice<T extends string>(name: string, choices: readonly T[], fallback?: T): T {
    const value = this.value(name) ?? fallback
    const choice = choices.find((candidate) => candidate === value)
    if (choice === undefined) {
      throw this.fault(`"${name}" must be one of ${choices.join(', ')}, not ${describe(value)}`)
    }
    return choice
  }

  /** @throws WarpdexError `BAD_REQUEST` where the map has fields that nobody asked for */
  finish(): void {
    const unknown = Object.keys(this.#fields).find(
      (name) => this.#fields[name] !== undefined && !this.#read.has(name),
    )
    if (unknown !== undefined) {
      throw this.fault(
        `unknown field "${unknown.slice(0, 64)}"; the fields are ${[...this.#read].join(', ')}`,
      )
    }
  }

  fault(message: string): WarpdexError {
    return faultAt(this.path, message)
  }
}

/** A value as messages quote it. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  return JSON.stringify(value).slice(0, 80)
}

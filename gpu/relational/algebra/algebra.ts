import type { Device } from '../../device/device.js'
import { OnDemand } from '../../primitives/on-demand.js'
import type { Primitives, Strategy } from '../../primitives/primitives.js'
import { strategyFor } from '../../primitives/strategy.js'
import type { ColumnShape } from '../columns.js'
import { Join } from './join.js'
import { type CtaJoin, type JoinOptions, joinShape } from './join-kernels.js'
import { JoinPages } from './join-pages.js'
import { Packing } from './pack.js'
import { PageLists } from './page-list.js'
import { Product } from './product.js'
import { Project } from './project.js'
import { Select } from './select.js'
import { SetOperator, type SetOperatorOptions } from './set-operators.js'
import { SortTuples } from './sort-tuples.js'

export interface AlgebraOptions {
  /** The strategy that suits the device unless given. */
  readonly strategy?: Strategy
  /** Bytes of a result of PRODUCT or JOIN at most, which may be larger than what goes in; what the device binds unless given. */
  readonly mostBytes?: number
}

/**
 * Relational algebra over dense sorted tuples (Diamos 2012). Each operator is a part whose kernels are made when it is first
 * asked for; it records device work, takes memory for its result and what it needs besides from scratch, and returns a relation
 * whose number of tuples is a word on the device.
 */
export class Algebra {
  readonly #packing: OnDemand<undefined, Packing>
  readonly #selects: OnDemand<ColumnShape, Select>
  readonly #projects: OnDemand<readonly [ColumnShape, ColumnShape], Project>
  readonly #products: OnDemand<readonly [ColumnShape, ColumnShape], Product>
  readonly #setOperators: OnDemand<SetOperatorOptions, SetOperator>
  readonly #joins: OnDemand<JoinOptions, Join>
  readonly #joinsIntoPages: OnDemand<JoinOptions, JoinPages>
  readonly #pageLists: OnDemand<ColumnShape, PageLists>

  private constructor(
    device: Device,
    primitives: Primitives,
    sort: SortTuples,
    { strategy = strategyFor(device), mostBytes = device.facts.bindingBytes }: AlgebraOptions,
  ) {
    this.#packing = new OnDemand(() => Packing.create(device, sort))
    this.#selects = new OnDemand((shape) => Select.create(device, primitives, strategy, shape))
    this.#projects = new OnDemand(([from, to]) => Project.create(device, sort, from, to))
    this.#products = new OnDemand(([first, second]) => Product.create(device, first, second, mostBytes))
    this.#setOperators = new OnDemand((options) =>
      SetOperator.create(device, primitives, sort, strategy, options),
    )
    this.#joins = new OnDemand((options) => Join.create(device, primitives, strategy, options, mostBytes))
    this.#pageLists = new OnDemand((shape) => PageLists.create(device, primitives, shape))
    this.#joinsIntoPages = new OnDemand(async (options) => {
      const lists = await this.pageLists(joinShape(options.first, options.second))
      return JoinPages.create(device, lists, strategy, options, mostBytes)
    })
  }

  static async create(
    device: Device,
    primitives: Primitives,
    options: AlgebraOptions = {},
  ): Promise<Algebra> {
    return new Algebra(device, primitives, await SortTuples.create(device, primitives), options)
  }

  /** Tuples from columns of attributes, and back. */
  packing(): Promise<Packing> {
    return this.#packing.get(undefined)
  }

  /** SELECT: the tuples that satisfy a predicate over their attributes. */
  select(shape: ColumnShape): Promise<Select> {
    return this.#selects.get(shape)
  }

  /** PROJECT: other attributes; `planProjection` makes the plan. */
  project(from: ColumnShape, to: ColumnShape): Promise<Project> {
    return this.#projects.get([from, to])
  }

  /** PRODUCT: every tuple of one relation with every one of another. */
  product(first: ColumnShape, second: ColumnShape): Promise<Product> {
    return this.#products.get([first, second])
  }

  /** UNION, INTERSECT and DIFFERENCE. */
  setOperator(options: SetOperatorOptions): Promise<SetOperator> {
    return this.#setOperators.get(options)
  }

  /** JOIN by key. */
  join(first: ColumnShape, second: ColumnShape, ctaJoin: CtaJoin = DEFAULT_CTA_JOIN): Promise<Join> {
    return this.#joins.get({ first, second, ctaJoin })
  }

  /** JOIN into a list of pages. */
  joinIntoPages(
    first: ColumnShape,
    second: ColumnShape,
    ctaJoin: CtaJoin = DEFAULT_CTA_JOIN,
  ): Promise<JoinPages> {
    return this.#joinsIntoPages.get({ first, second, ctaJoin })
  }

  /** Lists of pages, from dense tuples and back. */
  pageLists(shape: ColumnShape): Promise<PageLists> {
    return this.#pageLists.get(shape)
  }
}

/** The fastest one on GPUs, see docs/relational.md. */
const DEFAULT_CTA_JOIN: CtaJoin = 'search'

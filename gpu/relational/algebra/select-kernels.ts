import type { Kernel } from '../../device/kernel.js'
import type { ColumnShape } from '../columns.js'
import { readsPayload, type Term } from './predicate.js'

/** The two dispatches of a pass of SELECT. */
export interface SelectKernels {
  readonly mark: Kernel
  readonly emit: Kernel
}

/** Kernels for one term and for several, and for terms that look at keys only and for others (`select-terms.wesl`). */
export class KernelsByTerms {
  readonly #kernels: readonly SelectKernels[]

  private constructor(kernels: readonly SelectKernels[]) {
    this.#kernels = kernels
  }

  /** @param create makes kernels with these conditions */
  static async create(
    shape: ColumnShape,
    create: (conditions: Readonly<Record<string, boolean>>) => Promise<SelectKernels>,
  ): Promise<KernelsByTerms> {
    const onPayload = shape.payloadWords > 0 ? [false, true] : [false]
    const conditions = onPayload.flatMap((on_payload) =>
      [false, true].map((many_terms) => ({ on_payload, many_terms })),
    )
    return new KernelsByTerms(await Promise.all(conditions.map(create)))
  }

  of(terms: readonly Term[]): SelectKernels {
    return this.#kernels[2 * Number(terms.some(readsPayload)) + Number(terms.length > 1)]!
  }
}

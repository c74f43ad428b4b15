/** Values of `@if` conditions. */
export type Conditions = Readonly<Record<string, boolean>>

const byWidth = ({ wide }: Conditions) => (wide ? 'wide' : 'narrow')

/**
 * Modules that have a file for each of several forms, all with the same names in them: kernels import the module, and the conditions that
 * they are made with say which file stands for it. By path below `gpu/`.
 */
export const PERMUTATIONS: Readonly<Record<string, (conditions: Conditions) => string>> = {
  'index/key': (conditions) => (conditions.variable ? 'variable' : byWidth(conditions)),
  'index/main/buckets': byWidth,
  'primitives/sort-key': byWidth,
  'primitives/subgroup': ({ emulated }) => (emulated ? 'emulated' : 'native'),
  'relational/joins/key': byWidth,
}

/** The functions of `grid.wesl` that number invocations and workgroups, in a linked module. */
const NUMBERING = /fn (?:global|group)_index\([^}]*\}/g

const FIRST_GROUP = /(fn first_group\(\) -> u32 \{\s*return )0u/

const PARAMS = /(struct Params \{[^}]*?),?\s*\}/

/** What kernels call their place in a dispatch. */
const OTHER_NUMBERING = /\b(?:id|groups?)\.[xy]\b/

/**
 * Has the kernels of a linked module take the number of their first workgroup behind their parameters, so that a dispatch can be divided into several over
 * neighbouring workgroups. Those cannot that know their place, or how many workgroups there are, by other means than `grid.wesl`.
 * Comments are in the code: no struct `Params` may have one with a brace in it, or one behind its last member.
 */
export function divisible(code: string): { readonly code: string; readonly divides: boolean } {
  const divides =
    FIRST_GROUP.test(code) && PARAMS.test(code) && !OTHER_NUMBERING.test(code.replace(NUMBERING, ''))
  if (!divides) return { code, divides }
  const made = code.replace(PARAMS, '$1, first_group: u32 }').replace(FIRST_GROUP, '$1params.first_group')
  return { code: made, divides }
}

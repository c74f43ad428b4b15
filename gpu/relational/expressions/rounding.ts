/** Which way numbers are rounded, as `double-rounding.wesl` has it: to the nearest, of two the even one or the one that is farther from 0; down; up. */
export const ROUNDING = { even: '0u', away: '1u', down: '2u', up: '3u' } as const
export type Rounding = keyof typeof ROUNDING

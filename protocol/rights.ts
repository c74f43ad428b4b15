/** What a token may allow on an index; backups hold all indexes, so whoever makes them needs the right on `*`. Each of them on an index implies `stats` on it. */
export const RIGHTS = ['read', 'write', 'create', 'drop', 'snapshot', 'backup', 'stats'] as const
export type Right = (typeof RIGHTS)[number]

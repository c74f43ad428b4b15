/** What a token may allow on an index; backups hold all indexes, so whoever makes them needs the right on `*`. Whoever has any of them on an index has `stats` on it. */
export const RIGHTS = ['read', 'write', 'create', 'drop', 'snapshot', 'backup', 'stats'] as const
export type Right = (typeof RIGHTS)[number]

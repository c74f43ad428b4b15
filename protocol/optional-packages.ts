/** Packages that only some users need, in the versions that package.json names as optional peers. */
export const OPTIONAL_PACKAGES = {
  '@duckdb/node-api': '1.5.5-r.5',
  '@sparticuz/chromium': '147',
  'apache-arrow': '21',
} as const

/** The command that installs one. */
export function installCommand(name: keyof typeof OPTIONAL_PACKAGES): string {
  return `npm install ${name}@${OPTIONAL_PACKAGES[name]}`
}

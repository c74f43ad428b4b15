/** Packages that only some users need, in the versions that package.json names as optional peers. */
export const OPTIONAL_PACKAGES = {
  '@aws-sdk/client-s3': '3.1175.0',
  '@duckdb/node-api': '1.5.5-r.5',
  '@nats-io/jetstream': '3.4.0',
  '@nats-io/kv': '3.4.0',
  '@nats-io/obj': '3.4.0',
  '@nats-io/transport-node': '3.4.0',
  '@sparticuz/chromium': '147',
  'apache-arrow': '21',
} as const

/** The command that installs some. */
export function installCommand(...names: readonly (keyof typeof OPTIONAL_PACKAGES)[]): string {
  return `npm install ${names.map((name) => `${name}@${OPTIONAL_PACKAGES[name]}`).join(' ')}`
}

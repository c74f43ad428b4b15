// WebAssembly is written as text (*.wat); what runs is its binary. `build.mjs` puts that of the server into dist (*.wasm), the tests' loader beside the
// text. Bundlers for browsers take modules only, so that of the client is one, which `npm run assemble` makes from its text.
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Makes the binary of each text in a folder that has none in `target`, or an older one. */
export async function assemble(folder, target = folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith('.wat')) continue
    const text = join(folder, name)
    const binary = join(target, name.replace(/wat$/, 'wasm'))
    if (existsSync(binary) && statSync(binary).mtimeMs > statSync(text).mtimeMs) continue
    // Put in place as a whole: tests run beside each other.
    const aside = `${binary}.${process.pid}`
    writeFileSync(aside, await binaryOf(text))
    renameSync(aside, binary)
  }
}

async function binaryOf(text) {
  const { default: load } = await import('wabt')
  const wabt = await load()
  return wabt.parseWat(text, readFileSync(text, 'utf8'), { bulk_memory: true, simd: true }).toBinary({})
    .buffer
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = join('clients', 'sdk', 'cluster', 'partition.wat')
  const binary = Buffer.from(await binaryOf(text)).toString('base64')
  const lines = binary.match(/.{1,100}/g).map((line) => `  '${line}'`)
  const module = `// Made from partition.wat by "npm run assemble".\nexport const BINARY =\n${lines.join(' +\n')}\n`
  writeFileSync(text.replace(/\.wat$/, '-binary.ts'), module)
}

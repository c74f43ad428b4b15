// WebAssembly is written as text (*.wat); what runs is its binary (*.wasm). `build.mjs` puts it into dist, the tests' loader beside the text.
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Makes the binary of each text in a folder that has none in `target`, or an older one. */
export async function assemble(folder, target = folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith('.wat')) continue
    const text = join(folder, name)
    const binary = join(target, name.replace(/wat$/, 'wasm'))
    if (existsSync(binary) && statSync(binary).mtimeMs > statSync(text).mtimeMs) continue
    const { default: load } = await import('wabt')
    const wabt = await load()
    const module = wabt.parseWat(text, readFileSync(text, 'utf8'), { bulk_memory: true })
    // Put in place as a whole: tests run beside each other.
    const aside = `${binary}.${process.pid}`
    writeFileSync(aside, module.toBinary({}).buffer)
    renameSync(aside, binary)
  }
}

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { instance } from '@viz-js/viz'

/** A diagram as its source says. */
export interface Diagram {
  readonly path: string
  readonly from: string
  readonly picture: string
}

/** Draws the diagrams of a folder, which are in Graphviz' language. */
export async function drawDiagrams(folder: string): Promise<Diagram[]> {
  const viz = await instance()
  return readdirSync(folder)
    .filter((name) => name.endsWith('.dot'))
    .map((name) => {
      const from = join(folder, name)
      const picture = viz.renderString(readFileSync(from, 'utf8'), { format: 'svg' })
      return { path: from.replace(/dot$/, 'svg'), from, picture }
    })
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import puppeteer, { type Browser } from 'puppeteer-core'
import { Chromium } from '../../clients/sdk/chromium.js'

/** How long anything in a browser may take. */
export const PATIENCE_MS = 60_000

/** A browser, and how to end it. */
export interface Launched {
  readonly browser: Browser
  readonly close: () => Promise<void>
}

/** Starts Chromium, which puppeteer drives. */
export async function launchBrowser(): Promise<Launched> {
  const chromium = await Chromium.open()
  const home = mkdtempSync(join(tmpdir(), 'warpdex-browser-'))
  const browser = await puppeteer.launch({
    executablePath: chromium.program,
    headless: 'shell',
    pipe: true,
    userDataDir: join(home, 'profile'),
    args: ['--no-sandbox', '--no-zygote', '--disable-gpu', '--disable-dev-shm-usage', '--no-proxy-server'],
    env: chromium.environment(home),
    timeout: PATIENCE_MS,
  })
  const close = async () => {
    await browser.close()
    rmSync(home, { recursive: true, force: true })
  }
  return { browser, close }
}

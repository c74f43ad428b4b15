#!/usr/bin/env node
await import('./program.js')

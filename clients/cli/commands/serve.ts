import type { Argv } from 'yargs'
import { grouped } from '../output.js'
import { type Progress, showProgress } from '../progress.js'

export function add(cli: Argv): Argv {
  return cli.command(
    'serve',
    'Start a server',
    async (command) => {
      const { SETTINGS, flagName, variableName } = await import('../../../src/config/settings.js')
      const { sizeText } = await import('../../../src/config/size.js')
      for (const [name, { type, description, fallback }] of Object.entries(SETTINGS)) {
        const shown = type === 'bytes' ? sizeText(Number(fallback)) : fallback
        // Numbers stay texts, so that what is wrong with one is said in one place.
        command.option(flagName(name), {
          ...(type === 'boolean' ? { type } : { requiresArg: true }),
          describe: `${description} [$${variableName(name)}${fallback === '' ? '' : ` or ${shown}`}]`,
        })
      }
      return command
        .option('config', {
          type: 'string',
          requiresArg: true,
          describe: 'JSON file with settings, by names such as snapshotLogBytes [$WARPDEX_CONFIG]',
        })
        .example('$0 serve', 'on the default port, with the data in ./warpdex-data')
        .example(
          '$0 serve --host 0.0.0.0 --tokens t.json --tls-cert c.pem --tls-key k.pem',
          'for other machines',
        )
        .epilogue(
          'A flag wins over an environment variable, and that over the file. Ctrl-C stops the server;\n' +
            'SIGHUP has it read certificate, key and tokens again.',
        )
    },
    async (options) => {
      const { banner, loadConfig, openLog, serveUntilSignal, SETTINGS, startServer } = await import(
        '../../../src/server/index.js'
      )
      const { ClusterForwarder } = await import('../../forward/forwarder.js')
      const given: Readonly<Record<string, unknown>> = options
      const flags = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, given[name]]))
      const file = typeof given.config === 'string' ? given.config : undefined
      const warnings: string[] = []
      const onWarning = (message: string) => warnings.push(message)
      const config = loadConfig({ flags, file, environment: process.env, onWarning })
      const log = openLog({ level: config.logLevel, format: config.logFormat })
      for (const message of warnings) log.warn({}, message)
      await serveUntilSignal(
        async (stop) => {
          let replay: { readonly index: string; readonly progress: Progress } | undefined
          const starting = startServer(config, {
            stop,
            onProgress: ({ index, done, total }) => {
              if (replay?.index !== index) {
                replay?.progress.stop()
                replay = { index, progress: showProgress(`replaying ${index}`, total) }
              }
              replay.progress.update(done, `${grouped(done)} of ${grouped(total)} records`)
            },
            log,
            forward: (connection) => new ClusterForwarder(connection),
          }).finally(() => replay?.progress.stop())
          const server = await starting
          process.stdout.write(banner(config, server))
          return server
        },
        { shutdownSeconds: config.shutdownSeconds, onWarning: (message) => log.warn({}, message) },
      )
    },
  )
}

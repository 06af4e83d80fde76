import './config/young-heap.ts';

const { argv, env, stdin, stdout, stderr } = process;
const args = argv.slice(2);
// `gatehouse … | head -1` closes the pipe before the end of the text. A gateway goes on without its banner.
for (const stream of [stdout, stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (args[0] !== 'start') process.exit();
  });
}

// Loaded after young-heap has run. Static imports load before any code runs, so that other modules must not be above.
const { runCommand } = await import('./program.ts');
process.exitCode = await runCommand(args, { env, stdin, stdout, stderr });
// Its channel to the primary keeps a worker alive.
if (process.exitCode !== 0 && process.connected) process.exit();

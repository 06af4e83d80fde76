/** Work that takes this CPU time, and lets nothing else run. */
export function blockEventLoop(ms: number): void {
  for (const start = process.cpuUsage(); ;) {
    const { user, system } = process.cpuUsage(start);
    if (user + system >= 1_000 * ms) return;
  }
}

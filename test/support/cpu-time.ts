/** CPU time of the process for this work, in ms. Unlike real time, it does not depend on what else the machine does. */
export function cpuTimeOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Makes the examples of a command's help. @param lines without the name of the program */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  gatehouse ${line}`).join('\n')}`;
}

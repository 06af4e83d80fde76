// Generated from Request in schemas/types/envelope.yaml by `npm run generate`. Do not edit.
export const requestMembers: readonly string[] = ['jsonrpc', 'method', 'params', 'id'];

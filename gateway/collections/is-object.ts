/** An object of JSON with any members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value of JSON is an object, neither an array nor null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in a JSON text; undefined: another value, or no JSON. */
export function jsonObjectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** @returns the answer; null when it has not come in time. What is asked goes on, and its later failure is ignored. */
export async function within<T>(ms: number, answer: Promise<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(late.resolve, ms, null);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

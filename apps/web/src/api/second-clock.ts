const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The one clock of the page: calls `listener` every second, until the returned function is called. */
export function everySecond(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => listeners.forEach((one) => one()), 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

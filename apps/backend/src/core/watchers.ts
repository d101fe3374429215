/** Whether clients are connected at /ws, on any replica. */
export type Watchers = {
  isWatched(): boolean;
  /** Calls `listener` when it may have changed. `hasJoined`: clients of another replica need what was told before. */
  subscribe(listener: (change: { hasJoined: boolean }) => void): Disposable;
};

/** For a single backend. @param hub its clients. */
export const watchersOf = (hub: {
  size(): number;
  onWatched(listener: (watched: boolean) => void): Disposable;
}): Watchers => ({
  isWatched: () => hub.size() > 0,
  subscribe: (listener) => hub.onWatched(() => listener({ hasJoined: false })),
});

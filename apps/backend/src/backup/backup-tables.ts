declare module '../store/schema.ts' {
  interface Schema {
    backup_files: BackupFilesTable;
  }
}

/** Backup files that were verified; the files themselves are listed at their destination. */
type BackupFilesTable = { place: string; name: string; verified_at: number };

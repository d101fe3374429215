import { ChevronRight, type LucideIcon } from 'lucide-react';
import { Link } from 'wouter';

/** A row that leads to another page. */
export function LinkRow({
  href,
  icon: Icon,
  title,
  help,
}: {
  href: string;
  icon: LucideIcon;
  title: string;
  help?: string;
}) {
  return (
    <Link
      href={href}
      className="flex min-h-16 items-center gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift hover:border-line-strong"
    >
      <span aria-hidden className="grid size-10 shrink-0 place-items-center rounded-full bg-sunken text-ink-soft">
        <Icon className="size-5" />
      </span>
      <span className="min-w-0 flex-1">
        <span className="block font-strong">{title}</span>
        {help !== undefined && <span className="block truncate text-ink-soft">{help}</span>}
      </span>
      <ChevronRight aria-hidden className="size-5 shrink-0 text-ink-soft" />
    </Link>
  );
}

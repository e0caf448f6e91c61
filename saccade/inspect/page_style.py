"""The style of a report, on light and dark paper and in print."""

from saccade.inspect.cells import CIVIDIS, ink
from saccade.inspect.chart import DARK, LIGHT, STYLE

_LAYOUT = (
    f""":root{{color-scheme:light dark;{LIGHT}}}
@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}
{STYLE}"""
    + """*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:1.5rem 1rem 4rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0 1.5rem}h2{font-size:1.2rem;margin:2.5rem 0 .6rem}
p{margin:.6rem 0;max-width:42rem}figure{margin:1rem 0}figcaption,.note{color:var(--faint);font-size:.875rem}
.scroll{overflow-x:auto;max-width:100%}.scroll:focus-visible,summary:focus-visible{outline:2px solid var(--s0)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.4rem 0}
th,td{padding:.3rem 1.2rem .3rem 0;text-align:start;vertical-align:top}
thead th{border-bottom:2px solid var(--rule);font-size:.875rem;white-space:nowrap}
tbody td,tbody th{border-bottom:1px solid var(--rule);font-weight:400}
td.number,th.number{text-align:end;white-space:nowrap}
.met{color:var(--met);font-weight:600;white-space:nowrap}.unmet{color:var(--unmet);font-weight:600;white-space:nowrap}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;padding:0;margin:.4rem 0}
.legend svg{vertical-align:middle}
.chart{min-width:30rem;max-width:46rem}.chart svg{display:block;width:100%;height:auto}
table.heat{border-collapse:separate;border-spacing:1px}
.heat th,.heat td{border:0;padding:0 .2rem;line-height:1.6rem}
.heat thead th{writing-mode:vertical-rl;vertical-align:bottom;text-align:end;padding:.3rem 0;font-size:1rem;
font-weight:400}
.heat tbody th{text-align:end;white-space:nowrap;padding-inline-end:.4rem;position:sticky;left:0;
background:var(--paper)}
.heat td{min-width:1.9rem;height:1.6rem;text-align:center;font-size:.75rem}
dl.example{border-inline-start:3px solid var(--rule);padding-inline-start:1rem;margin:1rem 0;display:grid;
grid-template-columns:minmax(5rem,max-content) 1fr;gap:.2rem 1rem}
dl.example dt{color:var(--faint)}dl.example dd{margin:0;min-width:0}
@media(max-width:30rem){dl.example{grid-template-columns:1fr}dl.example dd{margin-bottom:.4rem}}
article{border-top:1px solid var(--rule);margin-top:1.4rem;padding-top:.4rem;break-inside:avoid}
.beside{display:flex;flex-wrap:wrap;gap:1.2rem 1.6rem;align-items:flex-start;
margin-right:min(0px,32rem - 50vw)}
.beside figure{margin:0;flex:0 1 auto;max-width:100%}.beside figcaption{color:var(--ink);max-width:14rem}
.beside .note{max-width:11rem}
.beside p{margin:.2rem 0}
.beside .heat th{font-size:.8125rem;line-height:1.15rem}
.beside .heat td{min-width:1.2rem;height:1.1rem;line-height:1.1rem;font-size:.625rem;padding:0}
summary{cursor:pointer;color:var(--faint);font-size:.875rem}
@media print{.beside{margin-right:0}body{max-width:none;padding:0;font-size:.8rem}section>h2{break-after:avoid}
tr,figure,dl.example{break-inside:avoid}.scroll{overflow:visible}
.heat td,.bar,.beyond{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
)
_CELLS = "\n".join(f".w{step}{{background:{colour};color:{ink(step)}}}" for step, colour in enumerate(CIVIDIS))
PAGE_STYLE = f"{_LAYOUT}{_CELLS}\n"
